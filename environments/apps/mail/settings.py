"""What our Roundcube is told: the file config.inc.php that it reads."""

DATABASE, MAILS, OUTBOX, CONFIG = "mail.sqlite", "Maildir", "outbox", "config"
IMAP, SMTP = "imap.socket", "smtp.socket"
"""Where servers listen, in the folder of the state."""
PLUGIN = "elcano_account"
FOLDERS = ("Drafts", "Sent", "Junk", "Trash")
"""Which Roundcube uses for itself."""
SETTINGS = f"""<?php
$state = dirname(__DIR__);
$config['db_dsnw'] = "sqlite:///$state/{DATABASE}?mode=0600";
$config['imap_host'] = 'localhost';
$config['smtp_host'] = "unix://$state/{SMTP}";
$config['smtp_user'] = '';
$config['des_key'] = 'nobody logs in by this!!';
$config['product_name'] = 'Bookbus Mail';
$config['skin_logo'] = null;
$config['display_product_info'] = 0;
$config['log_driver'] = 'stdout';
$config['temp_dir'] = "$state/temp";
$config['mime_types'] = null;
$config['plugins'] = ['{PLUGIN}'];
$config['session_lifetime'] = 600;
$config['language'] = 'en_US';
$config['timezone'] = 'UTC';
$config['prettydate'] = false;
$config['create_default_folders'] = false;
$config['drafts_mbox'] = 'Drafts';
$config['sent_mbox'] = 'Sent';
$config['junk_mbox'] = 'Junk';
$config['trash_mbox'] = 'Trash';
$config['mail_read_time'] = -1; // who reads a mail leaves it as it was
$config['read_when_deleted'] = false; // and so does who deletes it
$config['message_show_email'] = true;
$config['htmleditor'] = 0;
$config['reply_mode'] = -1; // an answer begins empty
$config['forward_attachment'] = true;
$config['show_sig'] = 0;
$config['draft_autosave'] = 0;
$config['refresh_interval'] = 0; // no mail arrives
$config['collected_recipients'] = $config['collected_senders'] = false;
$config['enable_spellcheck'] = false;
$config['check_all_folders'] = false;
$config['max_message_size'] = '1M';

class {PLUGIN} extends rcube_plugin
{{
    function init()
    {{
        $this->add_hook('startup', [$this, 'startup']);
        $this->add_hook('storage_connect', [$this, 'connect']);
    }}

    /** Whoever reaches this server is the agent. */
    function startup($args)
    {{
        $rcmail = rcmail::get_instance();
        if (!empty($_SESSION['user_id']) || !$rcmail->login('ana', 'none', 'localhost')) {{
            return $args;
        }}
        $rcmail->session->regenerate_id(false);
        $rcmail->session->set_auth_cookie();
        $task = rcube_utils::get_input_string('_task', rcube_utils::INPUT_GET);
        $action = rcube_utils::get_input_string('_action', rcube_utils::INPUT_GPC);
        $known = $task && $task != 'login';
        return ['task' => $known ? $task : 'mail', 'action' => $known ? $action : ''];
    }}

    /** Dovecot listens at a file. */
    function connect($args)
    {{
        return ['host' => 'unix://' . dirname(__DIR__) . '/{IMAP}', 'port' => -1] + $args;
    }}
}}
"""
